import type { MachineState } from '@computer/sdk'
import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { machineQuery } from './api/machines.ts'
import { queryClient } from './api/query-client.ts'
import { isSignedOut, sessionQuery } from './api/session.ts'
import { Shell } from './layout/Shell.tsx'
import { Crash } from './layout/Crash.tsx'
import { publicPages } from './public-routes.tsx'
import { root } from './root-route.tsx'
import { parseSearch, stringifySearch, textOf, textsOf } from './search-parameters.ts'
import { stateWords } from './words.ts'

/*
 * All addresses of the dashboard. Each page is a file of its own, loaded when it is opened. What a page
 * shows, such as its filter, is in its address.
 */

const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  component: Shell,
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.ensureQueryData(sessionQuery)
    } catch (error) {
      if (!isSignedOut(error)) throw error
      throw redirect({ to: '/login', search: location.href === '/' ? {} : { next: location.href } })
    }
  },
})

export type MachinesSearch = {
  readonly view?: 'grid' | 'list'
  readonly search?: string
  readonly state?: MachineState
  readonly template?: string
  /** A pair `key=value` of the metadata. */
  readonly metadata?: string
  /** The dialog that creates a machine is open, with this template if one is named. */
  readonly create?: boolean | string
}

const machines = createRoute({
  getParentRoute: () => app,
  path: '/',
  validateSearch: (given: Record<string, unknown>): MachinesSearch => ({
    ...(given['view'] === 'grid' || given['view'] === 'list' ? { view: given['view'] } : {}),
    ...textOf(given, 'search'),
    ...(Object.hasOwn(stateWords, String(given['state']))
      ? { state: given['state'] as MachineState }
      : {}),
    ...textOf(given, 'template'),
    ...textOf(given, 'metadata'),
    ...(String(given['create']) === 'true' ? { create: true } : textOf(given, 'create')),
  }),
  component: lazyRouteComponent(() => import('./pages/machines/MachinesPage.tsx'), 'MachinesPage'),
})

const machine = createRoute({
  getParentRoute: () => app,
  path: '/m/$machineId',
  loader: ({ params }) => queryClient.ensureQueryData(machineQuery(params.machineId)),
  component: lazyRouteComponent(() => import('./pages/machine/MachinePage.tsx'), 'MachinePage'),
  errorComponent: lazyRouteComponent(
    () => import('./pages/machine/MachineError.tsx'),
    'MachineError',
  ),
})

const machineTabs = [
  createRoute({
    getParentRoute: () => machine,
    path: '/',
    component: lazyRouteComponent(
      () => import('./pages/machine/screen/ScreenTab.tsx'),
      'ScreenTab',
    ),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/terminal',
    validateSearch: textsOf('terminal'),
    component: lazyRouteComponent(
      () => import('./pages/machine/terminal/TerminalTab.tsx'),
      'TerminalTab',
    ),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/files',
    validateSearch: textsOf('path'),
    component: lazyRouteComponent(() => import('./pages/machine/files/FilesTab.tsx'), 'FilesTab'),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/snapshots',
    component: lazyRouteComponent(
      () => import('./pages/machine/snapshots/SnapshotsTab.tsx'),
      'SnapshotsTab',
    ),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/ports',
    component: lazyRouteComponent(() => import('./pages/machine/ports/PortsTab.tsx'), 'PortsTab'),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/secrets',
    component: lazyRouteComponent(
      () => import('./pages/machine/secrets/SecretsTab.tsx'),
      'SecretsTab',
    ),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/events',
    validateSearch: textsOf('type'),
    component: lazyRouteComponent(
      () => import('./pages/machine/timeline/TimelineTab.tsx'),
      'TimelineTab',
    ),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/usage',
    component: lazyRouteComponent(() => import('./pages/machine/usage/UsageTab.tsx'), 'UsageTab'),
  }),
  createRoute({
    getParentRoute: () => machine,
    path: '/settings',
    component: lazyRouteComponent(
      () => import('./pages/machine/settings/SettingsTab.tsx'),
      'SettingsTab',
    ),
  }),
] as const

export type SnapshotsSearch = { readonly machine?: string; readonly origin?: string }

const pages = [
  createRoute({
    getParentRoute: () => app,
    path: '/help-requests',
    component: lazyRouteComponent(() => import('./pages/help/HelpPage.tsx'), 'HelpPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/templates',
    component: lazyRouteComponent(
      () => import('./pages/templates/TemplatesPage.tsx'),
      'TemplatesPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/snapshots',
    validateSearch: textsOf('machine', 'origin'),
    component: lazyRouteComponent(
      () => import('./pages/snapshots/SnapshotsPage.tsx'),
      'SnapshotsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/ports',
    component: lazyRouteComponent(() => import('./pages/ports/PortsPage.tsx'), 'PortsPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/secrets',
    component: lazyRouteComponent(() => import('./pages/secrets/SecretsPage.tsx'), 'SecretsPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/usage',
    validateSearch: textsOf('window', 'meter', 'by'),
    component: lazyRouteComponent(() => import('./pages/usage/UsagePage.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/billing',
    validateSearch: textsOf('period', 'chosen'),
    component: lazyRouteComponent(() => import('./pages/billing/BillingPage.tsx'), 'BillingPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/members',
    component: lazyRouteComponent(() => import('./pages/members/MembersPage.tsx'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/keys',
    component: lazyRouteComponent(() => import('./pages/keys/KeysPage.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/webhooks',
    component: lazyRouteComponent(
      () => import('./pages/webhooks/WebhooksPage.tsx'),
      'WebhooksPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/webhooks/$webhookId',
    validateSearch: textsOf('state'),
    component: lazyRouteComponent(
      () => import('./pages/webhooks/deliveries/DeliveriesPage.tsx'),
      'DeliveriesPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/audit',
    validateSearch: textsOf('type'),
    component: lazyRouteComponent(() => import('./pages/audit/AuditPage.tsx'), 'AuditPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/settings',
    component: lazyRouteComponent(
      () => import('./pages/settings/SettingsPage.tsx'),
      'SettingsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/account',
    component: lazyRouteComponent(() => import('./pages/account/AccountPage.tsx'), 'AccountPage'),
  }),
] as const

const routeTree = root.addChildren([
  app.addChildren([machines, machine.addChildren([...machineTabs]), ...pages]),
  ...publicPages,
])

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  // Of the page that crashed alone: the frame around it stays.
  defaultErrorComponent: Crash,
  defaultPreload: 'intent',
  // The query client keeps what the loaders read.
  defaultPreloadStaleTime: 0,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
