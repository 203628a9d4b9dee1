import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { computer } from '../api/client.ts'
import { leaveFor } from '../api/organizations.ts'
import { useSession } from '../api/session.ts'
import { readTheme, setTheme, type Theme } from '../theme.ts'
import { Check, LogOut, ScrollText, User } from '../ui/icons.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/Menu.tsx'
import { notifyError } from '../ui/notify.ts'

const themes: readonly { readonly theme: Theme; readonly label: string }[] = [
  { theme: 'system', label: 'Like the system' },
  { theme: 'light', label: 'Light' },
  { theme: 'dark', label: 'Dark' },
]

export function AccountMenu() {
  const { user } = useSession()
  const navigate = useNavigate()
  const [theme, setShown] = useState(readTheme)
  const choose = (next: Theme) => {
    setTheme(next)
    setShown(next)
  }
  const signOut = () =>
    computer.auth.logOut().then(
      () => leaveFor(null),
      (error: unknown) => notifyError('You are still signed in', error),
    )
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-left hover:bg-hover"
        >
          <User className="size-4 shrink-0 text-muted" aria-hidden />
          <span className="truncate">{user?.name ?? 'Account'}</span>
        </button>
      }
    >
      {user && <MenuLabel>{user.email}</MenuLabel>}
      <MenuItem icon={<User aria-hidden />} onSelect={() => void navigate({ to: '/account' })}>
        Your account
      </MenuItem>
      <MenuItem
        icon={<ScrollText aria-hidden />}
        onSelect={() => window.open('/docs', '_blank', 'noopener')}
      >
        API reference
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>Theme</MenuLabel>
      {themes.map(({ theme: one, label }) => (
        <MenuItem
          key={one}
          onSelect={() => choose(one)}
          icon={one === theme ? <Check aria-label="chosen" /> : <span className="size-4" />}
        >
          {label}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={<LogOut aria-hidden />} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  )
}
