import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** The licenses of all third-party packages in bundles, found by the files that the bundles are made of. */
export async function licensesOf(files: readonly string[]): Promise<string> {
  const paths = files.map((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
  const folders = [...new Set(paths.filter((path) => path !== undefined))].toSorted()
  const texts = folders.map(async (path) => {
    const folder = resolve(path)
    const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each))
    if (!file) throw new Error(`${name} has no license file`)
    return `${name} ${version}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`
  })
  return (await Promise.all(texts)).join(`\n${'-'.repeat(78)}\n\n`)
}
