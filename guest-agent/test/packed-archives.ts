import { Readable } from 'node:stream'
import { encodeTarHeader, tarEnd, tarPadding, type TarEntry } from '@computer/contract/tar'
import { extractArchive } from '../src/files/extract.ts'
import type { FileSpace } from '../src/files/space.ts'

type File = TarEntry & { readonly type: 'file'; readonly text: string }

export function file(path: string, text: string, mode = 0o644): File {
  return { type: 'file', path, mode, size: Buffer.byteLength(text), text }
}

export function pack(...entries: readonly (TarEntry | File)[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from('text' in entry ? entry.text : '')
    return [encodeTarHeader(entry), content, tarPadding(content.length)]
  })
  return Buffer.concat([...parts, tarEnd])
}

/** In chunks as they come from a network. */
export function extract(space: FileSpace, path: string, bytes: Buffer) {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 700) chunks.push(bytes.subarray(at, at + 700))
  return extractArchive(space, path, Readable.from(chunks, { objectMode: false }))
}
