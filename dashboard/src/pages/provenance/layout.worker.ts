import dagre from "@dagrejs/dagre";
import type { LayoutRequest, Point } from "./graph";
import { layered } from "./layers";

const SMALL = 400; // dagre's drawing is finer, but its time grows with the square

function fine({ ids, edges, tall }: LayoutRequest): Map<string, Point> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: tall ? "TB" : "LR", ranksep: tall ? 42 : 48, nodesep: 26, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) {
    const width = tall ? 145 : id.startsWith("job:") ? 60 : 120;
    graph.setNode(id, { width, height: tall ? 24 : 34 });
  }
  for (const [source, target] of edges) graph.setEdge(source, target);
  dagre.layout(graph);
  return new Map(
    ids.map((id) => {
      const { x, y } = graph.node(id);
      return [id, { x, y }];
    }),
  );
}

self.onmessage = ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(data.ids.length <= SMALL ? fine(data) : layered(data));
};
