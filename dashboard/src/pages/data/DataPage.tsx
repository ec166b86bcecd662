import { useSearchParams } from "react-router";
import { DirectoryView } from "./DirectoryView";
import { FileView } from "./FileView";

/** The tree of files. A path that ends in a slash is a directory. */
export function Component() {
  const [search] = useSearchParams();
  const path = search.get("path") ?? "/";
  const version = Number(search.get("version")) || null;
  return path.endsWith("/") ? (
    <DirectoryView key={path} path={path} />
  ) : (
    <FileView key={path} path={path} version={version} />
  );
}
