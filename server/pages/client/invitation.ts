/** Copies the invitation from the URL's fragment into the form. The user need not paste it. */

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
  // Opening another invitation link in the same tab changes only the fragment.
  addEventListener('hashchange', take)
}
