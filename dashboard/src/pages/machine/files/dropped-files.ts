import type { NewFile } from './FileBrowser.tsx'

/** The files of a drop, those of folders with their paths. Call it before the event ends. */
export async function readDrop(data: DataTransfer): Promise<NewFile[]> {
  const found: Promise<NewFile[]>[] = [...data.items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => {
      const entry = item.webkitGetAsEntry()
      if (entry) return readEntry(entry)
      const file = item.getAsFile()
      return Promise.resolve(file ? [{ file, relativePath: file.name }] : [])
    })
  return (await Promise.all(found)).flat()
}

async function readEntry(entry: FileSystemEntry): Promise<NewFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject))
    return [{ file, relativePath: entry.fullPath.slice(1) }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: NewFile[] = []
  // Each call gives a part; an empty one is the end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (part.length === 0) return found
    for (const one of part) found.push(...(await readEntry(one)))
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}
