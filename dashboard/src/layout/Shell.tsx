import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { followEvents } from '../api/live.ts'
import { watchOrganization } from '../api/organizations.ts'
import { useSession } from '../api/session.ts'
import { listenForShortcuts, useShortcut } from '../keyboard/shortcuts.ts'
import { Button } from '../ui/Button.tsx'
import { Menu as MenuIcon, Search } from '../ui/icons.ts'
import { GatewayNotice } from './GatewayNotice.tsx'
import { PageShortcuts, Sidebar } from './Sidebar.tsx'
import { SilenceNotice } from './SilenceNotice.tsx'

const Drawer = lazy(async () => ({ default: (await import('./Drawer.tsx')).Drawer }))
const Palette = lazy(async () => ({ default: (await import('../keyboard/Palette.tsx')).Palette }))
const StandingNotice = lazy(async () => ({
  default: (await import('./StandingNotice.tsx')).StandingNotice,
}))
const ShortcutHelp = lazy(async () => ({
  default: (await import('../keyboard/ShortcutHelp.tsx')).ShortcutHelp,
}))

/** The frame around all pages of a signed-in person. */
export function Shell() {
  const { organization } = useSession()
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => listenForShortcuts(), [])
  useEffect(() => watchOrganization(), [])
  useEffect(() => {
    const stopping = new AbortController()
    void followEvents(stopping.signal)
    void import('../api/live-help.ts').then(({ followHelp }) => followHelp(stopping.signal))
    return () => stopping.abort()
  }, [organization.id])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      // Inside a screen or terminal these keys belong to the machine.
      if (event.target instanceof Element && event.target.closest('[data-takes-keys]')) return
      event.preventDefault()
      setPaletteOpen(true)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  useShortcut('?', 'Show the shortcuts', () => setHelpOpen(true))
  useShortcut('c', 'Create a machine', () => void navigate({ to: '/', search: { create: true } }))

  const openPalette = () => setPaletteOpen(true)
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a
        href="#content"
        className="absolute top-2 left-2 z-50 -translate-y-16 rounded-md bg-fg px-3 py-1.5 text-page focus:translate-y-0"
      >
        Skip to the content
      </a>
      <PageShortcuts />
      <div className="hidden md:flex">
        <Sidebar onSearch={openPalette} onHelp={() => setHelpOpen(true)} />
      </div>
      {/* A new page begins with the drawer closed. */}
      <TopBar key={path} onSearch={openPalette} onHelp={() => setHelpOpen(true)} />
      <main
        id="content"
        tabIndex={-1}
        className="min-h-0 min-w-0 flex-1 overflow-y-auto outline-none"
      >
        <GatewayNotice />
        <SilenceNotice />
        <Suspense>
          <StandingNotice />
        </Suspense>
        <Outlet />
      </main>
      <Suspense>
        {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
        {isHelpOpen && <ShortcutHelp onClose={() => setHelpOpen(false)} />}
      </Suspense>
    </div>
  )
}

/** On a narrow screen the sidebar is a drawer behind a button. */
function TopBar({
  onSearch,
  onHelp,
}: {
  readonly onSearch: () => void
  readonly onHelp: () => void
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-raised px-2 md:hidden">
      <Button
        look="ghost"
        label="Menu"
        icon={<MenuIcon />}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      />
      <Suspense>
        {isOpen && (
          <Drawer title="Menu" onClose={() => setOpen(false)}>
            <Sidebar onSearch={onSearch} onHelp={onHelp} />
          </Drawer>
        )}
      </Suspense>
      <Link to="/" className="flex flex-1 items-center gap-2 font-semibold">
        <img src="/favicon.svg" alt="" className="size-5" />
        Computer
      </Link>
      <Button look="ghost" label="Search" icon={<Search />} onClick={onSearch} />
    </header>
  )
}
