/** Keys that act on the whole page, none of them inside a field. */

/** `data-key` names the key that follows a link. */
export function listenForKeys(): void {
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isField(target)) return
    if (key === 'd') switchTheme()
    else if (key === '/') focusSearch(event)
    else if (/^[a-z?]$/.test(key)) document.querySelector<HTMLElement>(`[data-key="${key}"]`)?.click()
  })
  for (const button of document.querySelectorAll('[data-theme-toggle]')) button.addEventListener('click', switchTheme)
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function focusSearch(event: KeyboardEvent): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>('[data-search] input')]
  const shown = fields.find(({ offsetParent }) => offsetParent !== null)
  if (!shown) return
  event.preventDefault()
  shown.focus()
  shown.select()
}

function switchTheme(): void {
  const root = document.documentElement
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = isDark ? 'light' : 'dark'
  try {
    localStorage.theme = root.dataset.theme
  } catch {
    // It holds for this page alone.
  }
}
