// Exits 0 when node_modules matches package-lock.json. Plain JavaScript, because it may run with a Node
// that does not strip types.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const repo = process.argv[2]
const wanted = readPackages('package-lock.json')
const present = readPackages('node_modules/.package-lock.json')

const isMissing = ([path, entry]) => {
  const found = present[path]
  // Optional packages for other processors and systems are not installed.
  if (!found) return !entry.optional && !entry.peer
  return found.version !== entry.version || found.integrity !== entry.integrity
}
const isGone = (path) => !existsSync(join(repo, path))

const inModules = Object.entries(wanted).filter(([path]) => path.startsWith('node_modules/'))
process.exitCode = inModules.some(isMissing) || Object.keys(present).some(isGone) ? 1 : 0

function readPackages(file) {
  return JSON.parse(readFileSync(join(repo, file), 'utf8')).packages ?? {}
}
