/** Makes buttons copy the element that they name, or the code next to them. */

/** Milliseconds for which a button says that it copied. */
const saidFor = 2_000

/** Shows all buttons of the page that copy. @param first the first of them */
export function copyBy(first: HTMLButtonElement): void {
  // Without HTTPS, browsers do not offer the clipboard.
  if (!('clipboard' in navigator)) return
  for (const button of first.ownerDocument.querySelectorAll<HTMLButtonElement>('button[data-copy]')) show(button)
}

function show(button: HTMLButtonElement): void {
  const { copy } = button.dataset
  const source = copy ? document.querySelector(copy) : button.closest('.code')?.querySelector('code')
  if (!source) return
  const label = button.textContent
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      const text = source.textContent ?? ''
      await navigator.clipboard.writeText(copy ? text.trim() : text.replace(/\n$/, ''))
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = label
      }, saidFor)
    } catch {
      button.textContent = 'Could not copy. Select the text instead'
    }
  })
}
