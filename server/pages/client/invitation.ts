/** Takes the invitation along that stands behind the `#` of the page's address; then there is nothing to paste. */

export function takeInvitation(form: HTMLFormElement): void {
  const take = () => {
    const [token] = location.hash.match(/grv_invite_[\w-]+/) ?? []
    const typed = form.querySelector<HTMLInputElement>('[name=invitation]')
    const byHand = form.querySelector<HTMLElement>('[data-by-hand]')
    if (token === undefined || typed === null || byHand === null) return
    typed.value = token
    byHand.hidden = true
  }
  take()
  // Another link in the same tab changes no more than this.
  addEventListener('hashchange', take)
}
