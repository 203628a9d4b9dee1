import { copyFile, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { buildStamped, hashFiles, isStamped } from './clients/stamped-folder.ts'

/*
 * Builds dashboard/dist, the folder that the API serves to browsers. Does nothing if it is current.
 *
 *     node scripts/build-dashboard.ts [--check]
 *
 * With --check, exits with 1 if the folder is not current, and builds nothing.
 */
const repoDir = fileURLToPath(new URL('../', import.meta.url))
export const dashboardDir = join(repoDir, 'dashboard/dist')
/** The assets of this build, without those of the build before. */
const ownAssetsFile = '.assets.json'

/** Everything that the dashboard is made of. */
const sources = [
  'dashboard/{index.html,package.json,vite.config.ts}',
  'dashboard/{src,public}/**/*',
  'sdk/src/**/*',
  'scripts/build-dashboard.ts',
  'scripts/clients/{licenses,stamped-folder}.ts',
  'package-lock.json',
]

export async function buildDashboard(outDir = dashboardDir): Promise<void> {
  await buildStamped(outDir, await hashFiles(sources, repoDir), (folder) => build(folder, outDir))
}

async function build(folder: string, before: string): Promise<void> {
  // Loaded only for a build: a check is part of every start.
  const [{ build: bundle }, { licensesOf }] = await Promise.all([
    import('vite'),
    import('./clients/licenses.ts'),
  ])
  const modules = new Set<string>()
  await bundle({
    configFile: join(repoDir, 'dashboard/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: false, chunkSizeWarningLimit: 1_000 },
    plugins: [
      {
        name: 'modules',
        moduleParsed: ({ id }) => void modules.add(id.split('?')[0]!),
      },
    ],
  })
  const packages = [...modules].filter((id) => id.includes('/node_modules/'))
  const fonts = ['geist', 'geist-mono'].map((name) =>
    join(repoDir, 'node_modules/@fontsource-variable', name, 'index.css'),
  )
  await writeFile(join(folder, 'licenses.txt'), await licensesOf([...packages, ...fonts]))
  await compressAll(folder)
  await keepEarlierAssets(folder, before)
}

/** Beside each text file, the same compressed, so that the server only chooses. */
async function compressAll(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true })
  const texts = names.filter((name) => /\.(html|js|css|svg|txt)$/.test(name))
  await Promise.all(
    texts.map(async (name) => {
      const path = join(folder, name)
      const bytes = await readFile(path)
      const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
      await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }))
      await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
    }),
  )
}

/** A tab that was opened before an update goes on with the files of its build; one build back is kept. */
async function keepEarlierAssets(folder: string, before: string): Promise<void> {
  const assets = join(folder, 'assets')
  await mkdir(assets, { recursive: true })
  const own = await readdir(assets)
  await writeFile(join(folder, ownAssetsFile), JSON.stringify(own))
  const earlier = await readFile(join(before, ownAssetsFile), 'utf8').catch(() => '[]')
  const missing = (JSON.parse(earlier) as string[]).filter((name) => !own.includes(name))
  await Promise.all(
    missing.map((name) =>
      copyFile(join(before, 'assets', name), join(assets, name)).catch(() => {}),
    ),
  )
}

if (import.meta.main) {
  if (process.argv[2] === '--check') {
    const isCurrent = await isStamped(dashboardDir, await hashFiles(sources, repoDir))
    process.exitCode = isCurrent ? 0 : 1
  } else {
    await buildDashboard()
  }
}
