/** Keys that act on the whole page, none of them inside a field. Each is a link or a button as well. */

/** `data-key` names the key that follows a link; what the others do loads when one is pressed. */
export function listenForShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    const { key } = event
    const isCommand = event.ctrlKey || event.metaKey || event.altKey
    if (isCommand || event.defaultPrevented || isField(event) || document.querySelector('dialog[open]')) return
    if (key === '/') focusSearch(event)
    else if (/^[djk?]$/.test(key)) perform(key)
    else if (/^[a-z]$/.test(key)) document.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click()
  })
  for (const [name, key] of [
    ['theme-toggle', 'd'],
    ['show-keys', '?'],
  ] as const)
    for (const button of document.querySelectorAll(`[data-${name}]`))
      button.addEventListener('click', () => perform(key))
}

/** At once: what is typed next belongs to the search. Browsers have one of their own at this key. */
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

/** Also of a field in a shadow root, whose host alone is the event's target here. */
function isField(event: Event): boolean {
  const [target] = event.composedPath()
  return target instanceof Element && target.matches('input, textarea, select, [contenteditable]')
}
