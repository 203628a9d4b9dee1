import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/*
 * CONTRIBUTING.md has a table of the folders of code. This compares it with the folders that exist:
 * the packages, the folders of `server` and the rooms of the domain.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))

if (import.meta.main) {
  const guide = readFileSync(`${repoDir}CONTRIBUTING.md`, 'utf8')
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const paths = execFileSync('git', listed, { cwd: repoDir, encoding: 'utf8' }).split('\0')
  const problems = compareRooms(
    guide,
    // A file that is deleted may still be in git's index.
    paths.filter((path) => existsSync(`${repoDir}${path}`)),
  )
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) process.exitCode = 1
}

/** The folders without a row in the guide's table, and the rows without a folder. */
export function compareRooms(guide: string, paths: readonly string[]): readonly string[] {
  const rows = new Set(readRows(guide))
  const rooms = new Set(paths.flatMap((path) => roomOf(path) ?? []))
  const missing = [...rooms].filter((room) => !rows.has(room)).sort()
  const stale = [...rows].filter((row) => !rooms.has(row)).sort()
  return [
    ...missing.map((room) => `${room} has no row in the table of folders in CONTRIBUTING.md`),
    ...stale.map((row) => `${row} has a row in CONTRIBUTING.md and is no folder of code`),
  ]
}

/** The folders that the first column names, without a slash at the end. */
function readRows(guide: string): readonly string[] {
  const [, table] = /^\| Folder \|.*\n\|[ |-]+\n((?:\|.*\n)+)/m.exec(guide) ?? []
  if (table === undefined)
    throw new Error('CONTRIBUTING.md has no table that begins with | Folder |')
  const cells = table.split('\n').map((line) => line.split('|')[1] ?? '')
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => bare(name!)))
}

/** The folder that stands for a file of code in the table; null for the other files. */
function roomOf(path: string): string | null {
  if (path.startsWith('.') || !/\.(ts|mjs|sh)$/.test(path)) return null
  const [, room] =
    /^(server\/src\/domain\/[^/]+)\//.exec(path) ??
    /^(server\/src\/[^/]+)\//.exec(path) ??
    /^(server\/[^/]+)\//.exec(path) ??
    /^([^/]+)\//.exec(path) ??
    []
  return room ?? null
}

function bare(name: string): string {
  return name.replace(/\/$/, '')
}
