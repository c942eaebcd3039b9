/** Makes a button copy the text of an element of the page. */

export function copyBy(button: HTMLButtonElement): void {
  const source = document.querySelector(button.dataset.copy ?? '')
  // Without HTTPS, browsers do not offer the clipboard.
  if (source === null || !('clipboard' in navigator)) return
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent?.trim() ?? '')
      button.textContent = 'Copied'
    } catch {
      button.textContent = 'Could not copy. Select the text instead'
    }
  })
}
