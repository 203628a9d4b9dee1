import type { HelpRequest } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { helpPictureQuery } from '../../api/help-requests.ts'
import { useObjectUrl } from '../../ui/use-object-url.ts'

/** The list is cut here, and tells how many there are. */
const shownFiles = 5

type Brief = NonNullable<HelpRequest['brief']>

/** The agent's brief, which tells what changed while a person had the machine, behind a line that opens it. */
export function HelpBrief({ id, brief }: { readonly id: string; readonly brief: Brief }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="text-[13px]" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="w-fit cursor-pointer rounded text-muted hover:text-fg">
        What changed meanwhile
      </summary>
      {isOpen && <Changes id={id} brief={brief} />}
    </details>
  )
}

function Changes({ id, brief }: { readonly id: string; readonly brief: Brief }) {
  const { windowsOpened, windowsClosed, filesChanged, hasMoreFiles, pictures } = brief
  const more = filesChanged.length - shownFiles
  return (
    <div className="mt-1.5 space-y-1.5">
      <Names of="Windows that opened" names={windowsOpened.map(nameOf)} />
      <Names of="Windows that closed" names={windowsClosed.map(nameOf)} />
      <Names
        of={`Files that changed: ${filesChanged.length}${hasMoreFiles ? ' or more' : ''}`}
        names={filesChanged.slice(0, shownFiles).map(({ path }) => path)}
      />
      {more > 0 && <p className="text-muted">The newest {shownFiles} are shown.</p>}
      <p>
        {brief.clipboardChanged ? 'The clipboard changed.' : 'The clipboard is as before.'}
        {!brief.isComplete && ' The machine did not answer in time to tell everything.'}
      </p>
      {pictures.length > 0 && (
        <div className="grid max-w-2xl gap-2 sm:grid-cols-2">
          {pictures.map((of) => (
            <Picture key={of} id={id} of={of} />
          ))}
        </div>
      )}
    </div>
  )
}

function Names({ of, names }: { readonly of: string; readonly names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <div>
      <p className="text-muted">{of}</p>
      <ul className="list-inside list-disc">
        {names.map((name, index) => (
          // Two windows may have one title, and the list never changes.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className="wrap-anywhere">
            <bdi>{name}</bdi>
          </li>
        ))}
      </ul>
    </div>
  )
}

function Picture({ id, of }: { readonly id: string; readonly of: 'before' | 'after' }) {
  const { data: blob } = useQuery(helpPictureQuery(id, of))
  const url = useObjectUrl(blob)
  return (
    <figure>
      <figcaption className="text-muted">{of === 'before' ? 'Before' : 'After'}</figcaption>
      <div className="aspect-[16/10] overflow-hidden rounded border border-line bg-sunken">
        {url !== undefined && (
          <img src={url} alt={`The screen ${of}`} className="size-full object-contain" />
        )}
      </div>
    </figure>
  )
}

function nameOf({ title, program }: Brief['windowsOpened'][number]): string {
  return title === '' ? program : title
}
