import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useSession } from '../api/session.ts'
import { useShortcut } from '../keyboard/shortcuts.ts'
import { Button } from '../ui/Button.tsx'
import { CircleHelp, Search } from '../ui/icons.ts'
import { AccountMenu } from './AccountMenu.tsx'
import { pageGroups, type PageLink } from './navigation.ts'
import { OrganizationSwitcher } from './OrganizationSwitcher.tsx'

const HelpCount = lazy(async () => ({ default: (await import('./HelpCount.tsx')).HelpCount }))

export function Sidebar({
  onSearch,
  onHelp,
}: {
  readonly onSearch: () => void
  readonly onHelp: () => void
}) {
  const { organization } = useSession()
  return (
    <div className="flex w-56 flex-col border-r border-line bg-page">
      <div className="p-2">
        <OrganizationSwitcher />
      </div>
      <div className="px-2 pb-2">
        <button
          type="button"
          onClick={onSearch}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-raised px-2 text-sm text-muted hover:bg-hover"
        >
          <Search className="size-4" aria-hidden />
          <span className="flex-1 text-left">Search</span>
          <kbd className="text-xs">Ctrl K</kbd>
        </button>
      </div>
      <nav
        aria-label={`Pages of ${organization.name}`}
        className="flex-1 space-y-4 overflow-y-auto px-2 py-1"
      >
        {pageGroups.map(({ title, pages }) => (
          <div key={title}>
            <p className="px-2 pb-1 text-xs font-medium text-muted">{title}</p>
            <ul>
              {pages.map((page) => (
                <li key={page.to}>
                  <SidebarLink page={page} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="flex items-center gap-1 border-t border-line p-2">
        <AccountMenu />
        <Button look="ghost" label="Shortcuts" icon={<CircleHelp />} onClick={onHelp} />
      </div>
    </div>
  )
}

function SidebarLink({ page: { to, label, icon: Icon } }: { readonly page: PageLink }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === '/', includeSearch: false }}
      className="flex h-8 items-center gap-2 rounded-md px-2 text-muted hover:bg-hover hover:text-fg data-[status=active]:bg-hover data-[status=active]:font-medium data-[status=active]:text-fg"
    >
      <Icon className="size-4" aria-hidden />
      <span className="flex-1">{label}</span>
      {to === '/help-requests' && (
        <Suspense>
          <HelpCount />
        </Suspense>
      )}
    </Link>
  )
}

/** `g` and a letter opens a page. */
export function PageShortcuts() {
  return pageGroups
    .flatMap(({ pages }) => pages)
    .map((page) => page.key && <PageShortcut key={page.to} page={page} keys={`g ${page.key}`} />)
}

function PageShortcut({ page, keys }: { readonly page: PageLink; readonly keys: string }) {
  const navigate = useNavigate()
  useShortcut(keys, `Open ${page.label.toLowerCase()}`, () => void navigate({ to: page.to }))
  return null
}
