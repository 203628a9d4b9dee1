import { serveAgent } from './agent.ts'
import { readConfig } from './config.ts'
import { listen } from './listen.ts'

/** The agent from its sources. A build starts at built/main.ts. */
const config = readConfig(process.env)
listen(config.socketPath, (listener) => serveAgent(config, listener))
