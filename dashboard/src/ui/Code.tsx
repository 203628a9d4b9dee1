import { CopyButton } from './CopyButton.tsx'

/** Lines to copy: a command, a program, a secret. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="flex items-start rounded-lg border border-line bg-sunken">
      <pre
        // A long line scrolls, also by keyboard.
        tabIndex={0}
        role="group"
        aria-label={label}
        className="min-w-0 flex-1 overflow-x-auto p-3 text-[13px] leading-5 select-all"
      >
        {text}
      </pre>
      <div className="p-1.5">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
    </div>
  )
}
