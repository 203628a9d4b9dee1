import type { Membership, Role } from '@computer/sdk'
import { roles } from '@computer/sdk/tables'
import { useState } from 'react'
import { changeRole, removeMember } from '../../api/members.ts'
import { useDenial, useSession } from '../../api/session.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { isolate } from '../../ui/isolate.ts'
import { notify } from '../../ui/notify.ts'
import { Select } from '../../ui/Select.tsx'
import { Cell, Row } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { LeaveOrganization } from '../settings/LeaveOrganization.tsx'
import { describeRole, roleWords, withArticle } from './roles.ts'

const choices = roles.map((role) => ({
  value: role,
  label: roleWords[role],
  detail: describeRole(role),
}))

export function MemberRow({ member }: { readonly member: Membership }) {
  const { user, role, createdAt } = member
  const session = useSession()
  const isSelf = user.id === session.user?.id
  const denied = useDenial('members:manage')
  const [nextRole, setNextRole] = useState<Role>()
  const [isRemoving, setRemoving] = useState(false)
  const remove = () => setRemoving(true)
  const close = () => setRemoving(false)
  return (
    <Row>
      <Cell className="max-w-56">
        <span className="flex items-center gap-2">
          <bdi className="min-w-0 truncate font-medium" title={user.name}>
            {user.name}
          </bdi>
          {isSelf && <Badge>you</Badge>}
        </span>
      </Cell>
      <Cell className="max-w-64">
        <bdi className="block truncate text-muted" title={user.email}>
          {user.email}
        </bdi>
      </Cell>
      <Cell>
        <Select
          label={`Role of ${user.name}`}
          hideLabel
          value={role}
          choices={choices}
          onChange={(next) => next !== role && setNextRole(next)}
          disabledReason={denied}
        />
      </Cell>
      <Cell className="text-muted">
        <Time iso={createdAt} />
      </Cell>
      <Cell className="text-right">
        {isSelf ? (
          <Button size="small" onClick={remove}>
            Leave
          </Button>
        ) : (
          <Button
            size="small"
            aria-label={`Remove ${user.name}`}
            disabledReason={denied}
            onClick={remove}
          >
            Remove
          </Button>
        )}
        {isRemoving &&
          (isSelf ? (
            <LeaveOrganization onClose={close} />
          ) : (
            <RemoveMember member={member} onClose={close} />
          ))}
        {nextRole && (
          <ChangeRole member={member} next={nextRole} onClose={() => setNextRole(undefined)} />
        )}
      </Cell>
    </Row>
  )
}

function ChangeRole({
  member: { id, user, role },
  next,
  onClose,
}: {
  readonly member: Membership
  readonly next: Role
  readonly onClose: () => void
}) {
  const session = useSession()
  const isSelf = user.id === session.user?.id
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={
        isSelf ? `Become ${withArticle(next)}` : `Make ${isolate(user.name)} ${withArticle(next)}`
      }
      action="Change the role"
      look="primary"
      onConfirm={async () => {
        await changeRole(id, next)
        notify(`${isolate(user.name)} is ${withArticle(next)} now`)
      }}
    >
      <p>
        {isSelf ? 'You are' : <>{<bdi>{user.name}</bdi>} is</>} {withArticle(role)} of{' '}
        <bdi>{session.organization.name}</bdi> now. As {withArticle(next)}:
      </p>
      <p>{describeRole(next)}</p>
      <p>It takes effect at once, also for the API keys that {isSelf ? 'you' : 'they'} made.</p>
    </Confirm>
  )
}

function RemoveMember({
  member: { id, user },
  onClose,
}: {
  readonly member: Membership
  readonly onClose: () => void
}) {
  const { organization } = useSession()
  return (
    <Confirm
      open
      onOpenChange={onClose}
      title={`Remove ${isolate(user.name)}`}
      action="Remove"
      onConfirm={async () => {
        await removeMember(id)
        notify(`${isolate(user.name)} is no longer a member`)
      }}
    >
      <p>
        <bdi>{user.name}</bdi> loses access to <bdi>{organization.name}</bdi> at once, and the API
        keys that they made stop working. Their machines and other things stay.
      </p>
    </Confirm>
  )
}
