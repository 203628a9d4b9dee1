import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buildDashboard, dashboardDir } from './build-dashboard.ts'
import { budgetsKb } from './dashboard-budgets.ts'

/*
 * Compares the sizes of the built dashboard with their budgets, gzipped. `initial` is all JavaScript that
 * the first page waits for; a page is what it adds to that, and a part that a page loads later, such as a
 * dialog or the library of the screen, is what it adds to its page.
 */
type Chunk = {
  readonly file: string
  readonly isDynamicEntry?: boolean
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
  readonly css?: readonly string[]
}
type Manifest = Readonly<Record<string, Chunk>>

const libraries: readonly { readonly part: string; readonly kb: number }[] = [
  { part: 'novnc', kb: 60 },
  { part: 'xterm', kb: 95 },
]

await buildDashboard()
const manifest = JSON.parse(
  await readFile(join(dashboardDir, '.vite/manifest.json'), 'utf8'),
) as Manifest
const page = await readFile(join(dashboardDir, 'index.html'), 'utf8')
const first = Object.keys(manifest).filter((key) => page.includes(`src="/${manifest[key]!.file}"`))
const initial = filesOf(first)
const styles = new Set(Object.values(manifest).flatMap(({ css = [] }) => css))

const sizes = [
  { what: 'initial JavaScript', kb: await kbOf(initial), budget: budgetsKb.initial },
  { what: 'styles', kb: await kbOf(styles), budget: budgetsKb.css },
]
for (const [key, { isDynamicEntry }] of Object.entries(manifest)) {
  if (!isDynamicEntry) continue
  const library = libraries.find(({ part }) => key.includes(part))
  const added = [...filesOf([key])].filter((file) => !filesBefore(key).has(file))
  const budget = library?.kb ?? budgetsKb.page
  sizes.push({ what: key, kb: await kbOf(added), budget })
}

for (const { what, kb, budget } of sizes) {
  const isOver = kb > budget
  if (isOver) process.exitCode = 1
  if (isOver || process.argv.includes('--all')) {
    console.log(`${what}: ${kb.toFixed(1)} KB of ${budget} KB${isOver ? ', too large' : ''}`)
  }
}

/** What a browser has before it loads a chunk: the page that asks for it, if it is a part of one. */
function filesBefore(key: string): Set<string> {
  const loaders = Object.keys(manifest).filter((other) =>
    manifest[other]!.dynamicImports?.includes(key),
  )
  const [loader] = loaders.filter((other) => !initial.has(manifest[other]!.file))
  return loaders.length === 1 && loader !== undefined ? filesOf([...first, loader]) : initial
}

/** The files of chunks and of all that they import before they run. */
function filesOf(keys: readonly string[], found = new Set<string>()): Set<string> {
  for (const key of keys) {
    const { file, imports = [] } = manifest[key]!
    if (found.has(file)) continue
    found.add(file)
    filesOf(imports, found)
  }
  return found
}

async function kbOf(files: Iterable<string>): Promise<number> {
  let bytes = 0
  for (const file of files) bytes += (await stat(join(dashboardDir, `${file}.gz`))).size
  return bytes / 1024
}
