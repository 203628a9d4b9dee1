import { readFile } from 'node:fs/promises'

/** Reads the JavaScript programs of a guide, whose blocks start with a comment that names the file. */
export async function readPrograms(guide: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL(`../../${guide}`, import.meta.url), 'utf8')
  const blocks = text.matchAll(/```js\n\/\/ (\S+)\n([\s\S]*?)```/g)
  return new Map([...blocks].map(([, name, program]) => [name!, program!]))
}
