import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

/** `npm run dashboard` serves the sources with the API of a server that runs on this host. */
/** The page of a guest is a document of its own, which loads nothing of the others. */
const guestDocument = 'src/pages/guest/help.html'

const server = process.env['COMPUTER_BASE_URL'] ?? 'http://127.0.0.1:7080'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), guestPage(), withoutDecoderProbe()],
  server: { proxy: { '/v1': server } },
  build: {
    target: 'es2022',
    // The first browsers with light-dark().
    cssTarget: ['chrome123', 'safari17.5', 'firefox120'],
    outDir: 'dist',
    emptyOutDir: true,
    // The security policy allows files of this origin, and no inline data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    // What every page needs is one file, because it compresses better than the parts that pages share. What the guest's
    // page needs of it, at once or later, are others: a guest who loaded the first file would run the dashboard.
    rolldownOptions: {
      input: ['index.html', guestDocument].map((path) => join(import.meta.dirname, path)),
      output: {
        codeSplitting: {
          groups: [
            { name: sharedPart, debugName: 'shared with the guest', priority: 2 },
            { name: 'first', test: /\/src\/main\.tsx$/, priority: 1 },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 600,
  },
})

/**
 * noVNC waits at its top level for the browser's H.264 decoder, which some phones never answer, and which
 * machines do not need. A module that waits also makes the bundler split the first page into many files.
 */
function withoutDecoderProbe(): Plugin {
  const probe = 'supportsWebCodecsH264Decode = await _checkWebCodecsH264DecodeSupport();'
  return {
    name: 'novnc-without-decoder-probe',
    transform: {
      filter: { id: /@novnc\/novnc\/core\/util\/browser\.js/ },
      handler(code) {
        if (!code.includes(probe)) throw new Error('noVNC has another probe of the decoder now')
        return { code: code.replace(probe, ''), map: null }
      },
    },
  }
}

type Graph = {
  getModuleInfo(id: string): {
    readonly importedIds: readonly string[]
    readonly dynamicallyImportedIds: readonly string[]
  } | null
}

/** The file for a module that both documents need: the guest's page before it shows anything, or later. */
function sharedPart(id: string, graph: Graph): string | null {
  if (!neededBy('src/main.tsx', 'at once', graph).has(id)) return null
  const guestPage = 'src/pages/guest/main.tsx'
  if (neededBy(guestPage, 'at once', graph).has(id)) return 'base'
  return neededBy(guestPage, 'ever', graph).has(id) ? 'more' : null
}

const needed = new Map<string, ReadonlySet<string>>()

/** All that a module imports, and what that imports, without itself. */
function neededBy(path: string, when: 'at once' | 'ever', graph: Graph): ReadonlySet<string> {
  const known = needed.get(`${path} ${when}`)
  if (known) return known
  const found = new Set<string>()
  const walk = (id: string) => {
    const module = graph.getModuleInfo(id)
    const later = when === 'ever' ? module?.dynamicallyImportedIds : undefined
    for (const imported of [...(module?.importedIds ?? []), ...(later ?? [])]) {
      if (found.has(imported)) continue
      found.add(imported)
      walk(imported)
    }
  }
  walk(join(import.meta.dirname, path))
  needed.set(`${path} ${when}`, found)
  return found
}

/** The guest's document lives beside its page and is served at /help. */
function guestPage(): Plugin {
  return {
    name: 'guest-page',
    configureServer: ({ middlewares }) => {
      middlewares.use((request, _response, next) => {
        if (request.url === '/help') request.url = `/${guestDocument}`
        next()
      })
    },
    generateBundle: {
      order: 'post',
      handler: (_options, bundle) => {
        const document = bundle[guestDocument]
        if (document) document.fileName = 'help.html'
      },
    },
  }
}
