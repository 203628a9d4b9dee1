import { build, type Metafile, type Plugin } from 'esbuild'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * The codec of pictures, sharp, as WebAssembly: one build for every operating system and processor, which
 * travels inside the package, so that an installation needs no other package and no registry.
 */
const codecFile = 'image-codec.cjs'
const source = dirname(fileURLToPath(import.meta.resolve('@img/sharp-wasm32/sharp.node')))

/** Makes a bundle load the codec beside it. sharp itself would look for native builds, of any version. */
export const imageCodecPlugin: Plugin = {
  name: 'image-codec',
  setup({ onLoad }) {
    onLoad({ filter: /\/sharp\/dist\/sharp\.mjs$/ }, () => ({
      contents: `import { createRequire } from 'node:module'
export default createRequire(import.meta.url)('./${codecFile}')`,
    }))
  },
}

/** Writes the codec into the folder of a bundle. A file of its own, because its threads load it again. */
export async function writeImageCodec(outDir: string): Promise<Metafile> {
  await mkdir(outDir, { recursive: true })
  const { metafile } = await build({
    entryPoints: [join(source, 'index.cjs')],
    outfile: join(outDir, codecFile),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.12',
    metafile: true,
    logLevel: 'error',
  })
  for (const name of await readdir(join(source, 'lib'))) {
    if (name.endsWith('.wasm')) await copyFile(join(source, 'lib', name), join(outDir, name))
  }
  return metafile
}
