import type { Ref } from 'react'
import { cx } from '../../../ui/cx.ts'
import type { Picture } from './viewer.ts'

/** The element that a viewer puts its pictures into. The picture of a broken connection is pale. */
export function PictureHost({
  ref,
  picture,
  className,
}: {
  readonly ref: Ref<HTMLDivElement>
  readonly picture: Picture
  readonly className?: string
}) {
  return (
    <div
      ref={ref}
      data-takes-keys
      data-picture={picture.is}
      className={cx(
        'absolute inset-0 [&:has(canvas:focus-visible)]:outline-2 [&:has(canvas:focus-visible)]:-outline-offset-2 [&:has(canvas:focus-visible)]:outline-accent-fg',
        picture.is === 'old' && 'opacity-35 grayscale',
        className,
      )}
    />
  )
}
