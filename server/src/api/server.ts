import { endpoints } from '@computer/contract'
import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { addHealthRoutes } from '../health.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { authRoutes } from './auth.ts'
import { authenticate } from './authenticate.ts'
import { desktopRoutes } from './desktop.ts'
import { addDocumentRoutes } from './documents.ts'
import { eventRoutes } from './events.ts'
import { execRoutes } from './exec.ts'
import { fileRoutes } from './files.ts'
import { createHttp } from '../http.ts'
import { onceByKey } from './idempotency.ts'
import { imageRoutes } from './images.ts'
import { machineRoutes } from './machines.ts'
import { mount, type Authenticate } from './route.ts'
import { inputLeaseRoutes, sessionRoutes } from './sessions.ts'

/** The whole HTTP API over an App. Tests may bring their own authentication. */
export function createApi(
  app: App,
  options: { readonly authenticate?: Authenticate } = {},
): FastifyInstance {
  const http = createHttp(app.log)
  const context = {
    authenticate: options.authenticate ?? ((request) => authenticate(app, request)),
    once: onceByKey(app),
  }
  addHealthRoutes(http, app)
  addDocumentRoutes(http, app.config.baseUrl)
  mount(http, context, endpoints.auth, authRoutes(app))
  mount(http, context, endpoints.machines, machineRoutes(app))
  mount(http, context, endpoints.images, imageRoutes(app))
  mount(http, context, endpoints.desktop, desktopRoutes(app))
  mount(http, context, endpoints.exec, execRoutes(app))
  mount(http, context, endpoints.files, fileRoutes(app))
  mount(http, context, endpoints.sessions, sessionRoutes(app))
  mount(http, context, endpoints.input_lease, inputLeaseRoutes(app))
  mount(http, context, endpoints.events, eventRoutes(app))
  mount(http, context, endpoints.api_keys, apiKeyRoutes(app))
  return http
}
