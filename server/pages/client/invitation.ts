/** Copies the token of a mailed link into the form. It is in the URL's fragment. */

export function takeInvitation(form: HTMLFormElement): void {
  const take = () => {
    const [token] = location.hash.match(/grv_(?:invite|reset|verify|undo)_[\w-]+/) ?? []
    const typed = form.querySelector<HTMLInputElement>('[data-by-hand] input')
    const byHand = form.querySelector<HTMLElement>('[data-by-hand]')
    if (token === undefined || typed === null || byHand === null) return
    typed.value = token
    byHand.hidden = true
    // A later user of the browser must not find a token in its history that changes an account.
    if (!token.startsWith('grv_invite_')) history.replaceState(history.state, '', location.pathname + location.search)
  }
  take()
  // Opening another link in the same tab changes only the fragment.
  addEventListener('hashchange', take)
}
