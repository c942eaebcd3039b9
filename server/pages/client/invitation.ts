/** Copies the token of an invitation or reset link into the form. It is in the URL's fragment. */

export function takeInvitation(form: HTMLFormElement): void {
  const take = () => {
    const [token] = location.hash.match(/grv_(?:invite|reset)_[\w-]+/) ?? []
    const typed = form.querySelector<HTMLInputElement>('[data-by-hand] input')
    const byHand = form.querySelector<HTMLElement>('[data-by-hand]')
    if (token === undefined || typed === null || byHand === null) return
    typed.value = token
    byHand.hidden = true
    // A later user of the browser must not find a token in its history that sets a password.
    if (token.startsWith('grv_reset_')) history.replaceState(history.state, '', location.pathname + location.search)
  }
  take()
  // Opening another link in the same tab changes only the fragment.
  addEventListener('hashchange', take)
}
