import dagre from "@dagrejs/dagre";
import type { LayoutRequest, Point } from "./graph";
import { layered } from "./layers";

const SMALL = 400; // dagre's drawing is finer, but its time grows with the square

function fine({ ids, edges }: LayoutRequest): Map<string, Point> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", ranksep: 70, nodesep: 18, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: id.startsWith("job:") ? 60 : 120, height: 34 });
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
