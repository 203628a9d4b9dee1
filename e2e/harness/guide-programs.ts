import { readFile } from 'node:fs/promises'

/** The JavaScript of a guide: each block begins with a comment that names its file. */
export async function readPrograms(guide: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL(`../../${guide}`, import.meta.url), 'utf8')
  const blocks = text.matchAll(/```js\n\/\/ (\S+)\n([\s\S]*?)```/g)
  return new Map([...blocks].map(([, name, program]) => [name!, program!]))
}
