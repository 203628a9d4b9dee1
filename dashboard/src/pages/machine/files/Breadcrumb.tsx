import { Link } from '@tanstack/react-router'
import { homePath } from '../../../api/files.ts'
import { ChevronRight, House } from '../../../ui/icons.ts'
import { ancestorsOf, visibleName } from './paths.ts'

/** The way to the open folder, as links. */
export function Breadcrumb({
  machineId,
  path,
  onOpen,
}: {
  readonly machineId: string
  readonly path: string
  /** An ancestor is opened in which this child is shown. */
  readonly onOpen: (child: string) => void
}) {
  const all = ancestorsOf(path)
  const look = 'flex h-8 items-center rounded-md px-1.5 hover:bg-hover'
  return (
    <nav aria-label="Folder" className="min-w-0 flex-1 basis-56">
      <ol className="flex flex-wrap items-center">
        <li>
          <Link
            to="/m/$machineId/files"
            params={{ machineId }}
            search={{}}
            activeOptions={{ exact: true }}
            aria-label="Home folder"
            title={homePath}
            className={look}
          >
            <House className="size-4 text-muted" aria-hidden />
          </Link>
        </li>
        {all.map(({ name, path: to }, index) => {
          const isLast = index === all.length - 1
          return (
            <li key={to} className="flex min-w-0 items-center">
              {index > 0 && <ChevronRight className="size-3.5 shrink-0 text-muted" aria-hidden />}
              <Link
                to="/m/$machineId/files"
                params={{ machineId }}
                search={{ path: to }}
                activeOptions={{ exact: true }}
                aria-current={isLast ? 'page' : undefined}
                aria-label={to === '/' ? 'Root folder' : undefined}
                onClick={() => !isLast && onOpen(all[index + 1]!.name)}
                title={visibleName(to)}
                className={`${look} min-w-0 ${isLast ? 'font-medium' : 'text-muted'}`}
              >
                <bdi className="max-w-48 truncate">{visibleName(name)}</bdi>
              </Link>
            </li>
          )
        })}
      </ol>
    </nav>
  )
}
