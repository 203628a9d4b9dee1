import { leaveOrganization } from '../../api/members.ts'
import { useSession } from '../../api/session.ts'
import { Confirm } from '../../ui/Confirm.tsx'

/** Asks before the signed-in person leaves. The last owner cannot: the server says so. */
export function LeaveOrganization({ onClose }: { readonly onClose: () => void }) {
  const { organization } = useSession()
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Leave ${organization.name}`}
      action="Leave"
      onConfirm={() => leaveOrganization(organization.id)}
    >
      <p>
        You lose access at once, and the API keys that you made here stop working. Your machines and
        other things stay with <bdi>{organization.name}</bdi>. To come back, somebody must invite
        you.
      </p>
    </Confirm>
  )
}
