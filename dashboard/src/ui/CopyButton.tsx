import { useEffect, useState } from 'react'
import { Button } from './Button.tsx'
import { Check, Copy } from './icons.ts'

/** Copies a text. Where the browser refuses, such as on plain http, it selects the text to copy by hand. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <Button
      look="ghost"
      size="small"
      label={isCopied ? 'Copied' : label}
      icon={isCopied ? <Check /> : <Copy />}
      onClick={() => void copyText(text).then(setCopied)}
    />
  )
}

/** Whether the text is in the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** Works without permissions and on plain http, within a click. */
function copyBySelection(text: string): boolean {
  const holder = document.createElement('textarea')
  holder.value = text
  holder.className = 'sr-only'
  // Inside an open dialog, which keeps the focus.
  const parent = document.activeElement?.closest('[role=dialog]') ?? document.body
  parent.append(holder)
  holder.select()
  const isCopied = document.execCommand('copy')
  holder.remove()
  return isCopied
}
