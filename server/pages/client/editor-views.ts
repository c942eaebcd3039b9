/** Shows the text, its preview, or both next to each other in a wide window. */

export class Views {
  private readonly preview: HTMLElement
  private readonly writing: HTMLElement
  private readonly toggle: HTMLButtonElement
  private readonly tabs: readonly HTMLButtonElement[]
  private readonly onShow: () => void

  constructor(form: HTMLElement, preview: HTMLElement, onShow: () => void) {
    const one = (selector: string) => form.querySelector(selector) as HTMLButtonElement // the form always has them
    this.preview = preview
    this.writing = one('[data-writing]')
    this.toggle = one('[data-show-preview]')
    this.tabs = [one('[data-view=write]'), one('[data-view=preview]')]
    this.onShow = onShow
    this.toggle.addEventListener('click', () => this.show(preview.hidden !== false))
    for (const [at, tab] of this.tabs.entries()) {
      tab.addEventListener('click', () => this.show(at === 1))
      tab.addEventListener('keydown', ({ key }) => {
        if (!/^Arrow(Left|Right)$|^Home$|^End$/.test(key)) return
        const other = key === 'Home' ? 0 : key === 'End' ? 1 : 1 - at
        this.show(other === 1)
        this.tabs[other]?.focus()
      })
    }
  }

  private show(isShown: boolean): void {
    const { preview, writing, toggle, tabs } = this
    preview.hidden = !isShown
    writing.toggleAttribute('data-shown', isShown)
    toggle.ariaPressed = String(isShown)
    for (const [at, tab] of tabs.entries()) {
      const isSelected = (at === 1) === isShown
      tab.ariaSelected = String(isSelected)
      tab.tabIndex = isSelected ? 0 : -1
    }
    if (isShown) this.onShow()
  }
}
