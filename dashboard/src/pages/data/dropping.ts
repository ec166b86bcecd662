import type { Dropped } from "../../api/upload";

export function fromInput(files: File[], directory: string): Dropped[] {
  return files.map((file) => ({ file, path: directory + file.name }));
}

/** The files of a drop, with what lies in dropped directories, but for those that are left out. */
export async function droppedFiles(
  transfer: DataTransfer,
  directory: string,
  leftOut: (directoryName: string) => boolean = () => false,
): Promise<Dropped[]> {
  // The list is emptied after the event, so entries are taken before anything is awaited.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...transfer.files];
  if (!entries.some((entry) => entry?.isDirectory)) return fromInput(plain, directory);
  const found: Dropped[] = [];
  for (const entry of entries) {
    if (entry) await gather(entry, directory, found, leftOut);
  }
  return found;
}

async function gather(
  entry: FileSystemEntry,
  below: string,
  found: Dropped[],
  leftOut: (directoryName: string) => boolean,
): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    found.push({ file, path: below + entry.name });
    return;
  }
  if (leftOut(entry.name)) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives a hundred entries at a time, and nothing at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return;
    for (const one of some) await gather(one, `${below}${entry.name}/`, found, leftOut);
  }
}
