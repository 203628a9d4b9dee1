import { build, type BuildOptions, type Plugin } from 'esbuild'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

export type Bundle = {
  /** The file that Node starts. It names the program's file. */
  readonly main: string
  readonly program: string
  readonly programName: string
}

/** The names of programs, in a folder or in the text of a main file. */
export const programNames = /\bagent-[0-9a-f]{16}\.js\b/g

/**
 * The agent as two files: its first steps, and its program (src/built). The program's name changes
 * with its contents, and with `runtime`: all else that its code cache depends on.
 */
export async function bundleAgent(runtime: string): Promise<Bundle> {
  const { version } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'))
  const versionPlaceholder = 'AGENT-VERSION-PLACEHOLDER'
  const unversioned = await bundle('src/agent.ts', {
    format: 'cjs',
    // The parameters that src/built/program.ts passes.
    banner: { js: '(function(module,require,__path){' },
    footer: { js: '})' },
    define: {
      'import.meta.url': '__path',
      AGENT_VERSION: JSON.stringify(versionPlaceholder),
    },
    // Loaded from its own folder, by `require` as everything else.
    external: ['sharp'],
    supported: { 'dynamic-import': false },
  })
  const fullVersion = `${version}+${digest(unversioned).slice(0, 12)}`
  const program = unversioned.replaceAll(versionPlaceholder, fullVersion)
  const programName = `agent-${digest(program, runtime).slice(0, 16)}.js`
  const main = await bundle('src/built/main.ts', {
    // An ES module that imports one of Node's reads all of its exports, and some of them load more.
    format: 'cjs',
    banner: { js: 'const require=process.getBuiltinModule,__dirname=import.meta.dirname;' },
    define: { 'import.meta.dirname': '__dirname', PROGRAM_FILE: JSON.stringify(programName) },
  })
  return { main, program, programName }
}

async function bundle(entry: string, options: BuildOptions): Promise<string> {
  const result = await build({
    entryPoints: [new URL(entry, import.meta.url).pathname],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    minify: true,
    legalComments: 'none',
    plugins: [usedPartsOfZod],
    logLevel: 'warning',
    ...options,
  })
  return result.outputFiles![0]!.text
}

/** esbuild leaves out what is not used of a namespace, but not of an object that a module exports. */
const usedPartsOfZod: Plugin = {
  name: 'used-parts-of-zod',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/(contract|guest-agent)\/src\/[^.]+\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace("import { z } from 'zod'", "import * as z from 'zod'")
      return { contents, loader: 'ts' }
    })
  },
}

function digest(...parts: string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:${part}`)
  return hash.digest('hex')
}
