import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** `npm run dashboard` serves the sources with the API of a server that runs on this host. */
const server = process.env['COMPUTER_BASE_URL'] ?? 'http://127.0.0.1:7080'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
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
  },
})
