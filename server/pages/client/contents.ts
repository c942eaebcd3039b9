/** Marks the section that is read in the contents next to a text. */

/** Pixels below the top of the window where a heading counts as reached. */
const reachedAt = 120

const [contents] = document.querySelectorAll<HTMLElement>('.toc')
if (contents) followScroll(contents)

function followScroll(contents: HTMLElement): void {
  const links = [...contents.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')]
  const headings = links.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))))
  let isAsked = false
  const mark = () => {
    isAsked = false
    const at = headings.filter((one) => one && one.getBoundingClientRect().top < reachedAt).length - 1
    for (const [nth, link] of links.entries()) {
      if ((nth === at) === link.classList.contains('on')) continue
      link.classList.toggle('on', nth === at)
      if (nth !== at) link.removeAttribute('aria-current')
      else {
        link.setAttribute('aria-current', 'location')
        keepInView(link)
      }
    }
  }
  const ask = () => {
    if (!isAsked) requestAnimationFrame(mark)
    isAsked = true
  }
  addEventListener('scroll', ask, { passive: true })
  mark()
}

/** Scrolls the column so that the link is in it. The page itself does not move. */
function keepInView(link: HTMLElement): void {
  const column = link.closest<HTMLElement>('.rail')
  if (!column || column.scrollHeight <= column.clientHeight) return
  const [{ top, bottom }, box] = [link.getBoundingClientRect(), column.getBoundingClientRect()]
  if (top < box.top) column.scrollTop -= box.top - top
  else if (bottom > box.bottom) column.scrollTop += bottom - box.bottom
}
