import { lazy, Suspense, useState } from 'react'
import { switchOrganization } from '../api/organizations.ts'
import { useSession } from '../api/session.ts'
import { Check, ChevronsUpDown, Plus } from '../ui/icons.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/Menu.tsx'
import { notifyError } from '../ui/notify.ts'

const CreateOrganization = lazy(async () => ({
  default: (await import('./CreateOrganization.tsx')).CreateOrganization,
}))

/** Names the organization that this browser acts in, and changes to another of the person's own. */
export function OrganizationSwitcher() {
  const { organization, organizations, role } = useSession()
  const [isCreating, setCreating] = useState(false)
  const open = (id: string, name: string) => {
    if (id === organization.id) return
    switchOrganization(id).catch((error: unknown) =>
      notifyError(`${name} could not be opened`, error),
    )
  }
  return (
    <>
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover"
          >
            <img src="/favicon.svg" alt="" className="size-6" />
            <span className="min-w-0 flex-1">
              <span className="block truncate text-sm leading-4 font-semibold">
                <span className="sr-only">Organization </span>
                {organization.name}
              </span>
              <span className="block text-xs text-muted">{role ?? 'no role'}</span>
              <span className="sr-only">Switch</span>
            </span>
            <ChevronsUpDown className="size-4 text-muted" aria-hidden />
          </button>
        }
      >
        <MenuLabel>Organizations</MenuLabel>
        {organizations.map(({ id, name, role: itsRole }) => (
          <MenuItem
            key={id}
            onSelect={() => open(id, name)}
            icon={
              id === organization.id ? <Check aria-label="current" /> : <span className="size-4" />
            }
            shortcut={itsRole}
          >
            {name}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem icon={<Plus aria-hidden />} onSelect={() => setCreating(true)}>
          Create an organization
        </MenuItem>
      </Menu>
      {isCreating && (
        <Suspense>
          <CreateOrganization onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </>
  )
}
