import { flushCompileCache } from 'node:module'

/* The agent as it is. Fake machines kill it, so what it compiled is kept as soon as all is loaded. */
await import('../../../../guest-agent/src/main.ts')
await import('../../../../guest-agent/src/routes.ts')
flushCompileCache()
