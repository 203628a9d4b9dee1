import { ApiError } from '@computer/sdk'
import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import { switchOrganization } from '../../api/organizations.ts'
import { useSession } from '../../api/session.ts'
import { Crash } from '../../layout/Crash.tsx'
import { Button } from '../../ui/Button.tsx'
import { notifyError } from '../../ui/notify.ts'

/** A machine that is not in this organization: it may be in another one of the person's. */
export function MachineError(props: ErrorComponentProps) {
  const { organization, organizations } = useSession()
  const { error } = props
  if (!(error instanceof ApiError) || error.code !== 'not_found') return <Crash {...props} />
  const others = organizations.filter(({ id }) => id !== organization.id)
  return (
    <div className="mx-auto max-w-xl px-4 py-12">
      <h1 className="text-lg font-semibold">There is no such machine in {organization.name}.</h1>
      <p className="mt-1 text-muted">
        It was deleted, or it is in another organization.{' '}
        <Link to="/" className="text-accent-fg underline">
          Go to the machines
        </Link>
      </p>
      {others.length > 0 && (
        <div className="mt-4 flex flex-wrap gap-2">
          {others.map(({ id, name }) => (
            <Button
              key={id}
              onClick={() =>
                void switchOrganization(id, location.pathname).catch((caught: unknown) =>
                  notifyError(`${name} could not be opened`, caught),
                )
              }
            >
              Look in {name}
            </Button>
          ))}
        </div>
      )}
    </div>
  )
}
