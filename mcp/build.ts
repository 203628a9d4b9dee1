import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../scripts/clients/program.ts'

/* Builds build/mcp, the published package: the MCP server alone. */

export function buildMcp(outDir: string): Promise<void> {
  const manifest = { bin: { 'computer-mcp': 'dist/main.js' }, exports: './dist/index.js' }
  return buildProgram({ workspace: 'mcp', modules: ['main', 'index'], manifest }, outDir)
}

if (import.meta.main) {
  await buildMcp(
    resolve(process.argv[2] ?? fileURLToPath(new URL('../build/mcp', import.meta.url))),
  )
}
