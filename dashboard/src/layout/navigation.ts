import type { ComponentType } from 'react'
import {
  Activity,
  Boxes,
  Camera,
  CreditCard,
  Globe,
  KeyRound,
  LifeBuoy,
  Lock,
  Monitor,
  ScrollText,
  Settings,
  Users,
  Webhook,
} from '../ui/icons.ts'

export type PageLink = {
  readonly to:
    | '/'
    | '/help-requests'
    | '/templates'
    | '/snapshots'
    | '/ports'
    | '/secrets'
    | '/usage'
    | '/billing'
    | '/members'
    | '/keys'
    | '/webhooks'
    | '/audit'
    | '/settings'
  readonly label: string
  readonly icon: ComponentType<{ readonly className?: string; readonly 'aria-hidden'?: boolean }>
  /** The second key after `g`. */
  readonly key?: string
}

/** The pages of an organization, in the groups of the sidebar. */
export const pageGroups: readonly {
  readonly title: string
  readonly pages: readonly PageLink[]
}[] = [
  {
    title: 'Computers',
    pages: [
      { to: '/', label: 'Machines', icon: Monitor, key: 'm' },
      { to: '/help-requests', label: 'Help requests', icon: LifeBuoy, key: 'h' },
      { to: '/templates', label: 'Templates', icon: Boxes, key: 't' },
      { to: '/snapshots', label: 'Snapshots', icon: Camera, key: 's' },
      { to: '/ports', label: 'Ports', icon: Globe, key: 'p' },
      { to: '/secrets', label: 'Secrets', icon: Lock },
    ],
  },
  {
    title: 'Organization',
    pages: [
      { to: '/usage', label: 'Usage', icon: Activity, key: 'u' },
      { to: '/billing', label: 'Billing', icon: CreditCard, key: 'b' },
      { to: '/members', label: 'Members', icon: Users },
      { to: '/keys', label: 'API keys', icon: KeyRound, key: 'k' },
      { to: '/webhooks', label: 'Webhooks', icon: Webhook, key: 'w' },
      { to: '/audit', label: 'Audit log', icon: ScrollText, key: 'a' },
      { to: '/settings', label: 'Settings', icon: Settings },
    ],
  },
]
