import { flushCompileCache } from 'node:module'

/* The unmodified agent. Fake machines kill it, so its compile cache is saved as soon as it is loaded. */
await import('../../../../guest-agent/src/main.ts')
await import('../../../../guest-agent/src/routes.ts')
flushCompileCache()
