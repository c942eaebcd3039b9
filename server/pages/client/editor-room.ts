/** Keeps the cursor and the lists of the editor clear of the bars around it. */

import type { Extension } from '@codemirror/state'
import { EditorView, tooltips } from '@codemirror/view'

/** Pixels between a line and the bars. */
const gap = 16

/** Returns the room between the toolbar above the text and the buttons below it. */
export function roomBetween(toolbar: HTMLElement): Extension {
  const acts = toolbar.closest('form')?.querySelector<HTMLElement>('.editor-acts')
  // Lists read the margins also, and would be hidden there. So they are only for the scroll that follows.
  let isScrolling = false
  const margins = () => {
    if (!isScrolling) return null
    isScrolling = false
    // The toolbar sticks below the header of the page.
    const top = Number.parseFloat(getComputedStyle(toolbar).top) + toolbar.offsetHeight + gap
    return { top, bottom: (acts?.offsetHeight ?? 0) + gap }
  }
  return [
    EditorView.scrollHandler.of(() => {
      isScrolling = true
      return false
    }),
    EditorView.scrollMargins.of(margins),
    tooltips({
      tooltipSpace: () => {
        const { clientWidth: right, clientHeight } = document.documentElement
        // The keyboard of a phone covers the window below this.
        const seen = (visualViewport?.offsetTop ?? 0) + (visualViewport?.height ?? clientHeight)
        const bottom = Math.min(clientHeight, seen, acts?.getBoundingClientRect().top ?? clientHeight)
        return { left: 0, right, top: Math.max(0, toolbar.getBoundingClientRect().bottom), bottom }
      },
    }),
  ]
}
