/** Keyboard shortcuts of pages. They do not act inside fields. */

/** Listens for shortcuts. `data-key` on a link is its key. The code of other keys loads on demand. */
export function listenForShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    const { key } = event
    const isCommand = event.ctrlKey || event.metaKey || event.altKey
    if (isCommand || event.defaultPrevented || isField(event) || document.querySelector('dialog[open]')) return
    if (key === '/') focusSearch(event)
    else if (/^[djk?]$/.test(key)) perform(key)
    else follow(key)
  })
  for (const [name, key] of [
    ['theme-toggle', 'd'],
    ['show-keys', '?'],
  ] as const)
    for (const button of document.querySelectorAll(`[data-${name}]`))
      button.addEventListener('click', () => perform(key))
}

/** Follows the link of a key. A key without a link is an event, on which the script of a page acts. */
function follow(key: string): void {
  const link = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
  if (link) link.click()
  else document.dispatchEvent(new CustomEvent('shortcut', { detail: key }))
}

/**
 * Focuses the search field immediately, because the next keys are typed into it. Replaces the browser's own search
 * for `/`.
 */
function focusSearch(event: KeyboardEvent): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>('[data-search] input')]
  const shown = fields.find(({ offsetParent }) => offsetParent)
  if (!shown) return
  event.preventDefault()
  shown.select()
}

function perform(key: string): void {
  void import('./shortcuts.ts').then(({ shortcuts: acts }) => acts[key]?.())
}

/** True if the event comes from a field. For a field in a shadow root, `target` is only the host. */
function isField(event: Event): boolean {
  const [target] = event.composedPath()
  return target instanceof Element && target.matches('input, textarea, select, [contenteditable]')
}
