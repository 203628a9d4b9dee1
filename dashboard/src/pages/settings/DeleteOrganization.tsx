import { deleteOrganization } from '../../api/members.ts'
import { useSession } from '../../api/session.ts'
import { Confirm } from '../../ui/Confirm.tsx'

/** Asks for the organization's name. The server refuses while something is left in it, and names it. */
export function DeleteOrganization({ onClose }: { readonly onClose: () => void }) {
  const { organization } = useSession()
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Delete ${organization.name}`}
      action="Delete"
      typed={organization.name}
      onConfirm={() => deleteOrganization(organization.id)}
    >
      <p>
        All members lose it at once, and its API keys and invitations stop working. It cannot be
        undone.
      </p>
    </Confirm>
  )
}
