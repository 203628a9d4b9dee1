// Exits 0 when node_modules holds what package-lock.json asks for. Plain JavaScript, since it runs
// before there is a Node that strips types.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const repo = process.argv[2]
const wanted = readPackages('package-lock.json')
const present = readPackages('node_modules/.package-lock.json')

const isMissing = ([path, entry]) => {
  const found = present[path]
  // What an optional package is for (another processor, another system) decides whether it is there.
  if (!found) return !entry.optional && !entry.peer
  return found.version !== entry.version || found.integrity !== entry.integrity
}
const isGone = (path) => !existsSync(join(repo, path))

const inModules = Object.entries(wanted).filter(([path]) => path.startsWith('node_modules/'))
process.exitCode = inModules.some(isMissing) || Object.keys(present).some(isGone) ? 1 : 0

function readPackages(file) {
  return JSON.parse(readFileSync(join(repo, file), 'utf8')).packages ?? {}
}
