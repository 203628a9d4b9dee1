import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** `npm run dashboard` serves the sources with the API of a server that runs on this host. */
const server = process.env['COMPUTER_BASE_URL'] ?? 'http://127.0.0.1:7080'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), withoutDecoderProbe()],
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
    // What every page needs is one file, because it compresses better than the parts that pages share.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'first', test: /\/src\/main\.tsx$/ }] } },
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
