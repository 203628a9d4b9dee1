import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../scripts/clients/program.ts'
import { bundleViewer, viewerFile } from './src/commands/view/page.ts'

/* Builds build/cli, the published package: the CLI, and in it the MCP server. */

export function buildCli(outDir: string): Promise<void> {
  const program = {
    workspace: 'cli',
    modules: ['main'],
    // For `view` in a checkout; the package has the page's module built.
    external: ['esbuild'],
    manifest: { bin: { computer: 'dist/main.js' } },
    addFiles: writeViewer,
  }
  return buildProgram(program, outDir)
}

async function writeViewer(dist: string) {
  const { outputFiles, metafile } = await bundleViewer()
  await writeFile(join(dist, viewerFile), outputFiles[0]!.contents)
  return [metafile]
}

if (import.meta.main) {
  await buildCli(
    resolve(process.argv[2] ?? fileURLToPath(new URL('../build/cli', import.meta.url))),
  )
}
