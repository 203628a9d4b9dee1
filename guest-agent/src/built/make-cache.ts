import { writeFileSync } from 'node:fs'
import { compileProgram, readProgram, runProgram } from './program.ts'

/**
 * Writes V8's cache of a program: `make-cache.ts PROGRAM CACHE`. The build runs this with the agent's own
 * Node and flags. The program is run first, because the cache then holds every function that loading it
 * calls, also those of the parts that a running agent loads later.
 */
const [programPath, cachePath] = process.argv.slice(2) as [string, string]
const program = readProgram(programPath)
const script = compileProgram(program)
const { parts } = runProgram(program, script)
for (const load of Object.values(parts)) await load()
writeFileSync(cachePath, script.createCachedData())
