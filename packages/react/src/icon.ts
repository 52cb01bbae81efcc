import { createElement, type ReactElement, type SVGProps } from 'react'

/** The shapes of an icon on a grid of 24 by 24: names of SVG elements with their attributes. */
export type IconShapes = readonly (readonly [name: string, attributes: Readonly<Record<string, string>>])[]

/** Draws an icon. It is decoration by default: give it an `aria-label` and `aria-hidden={false}` if it says something alone. */
export type Icon = (props: SVGProps<SVGSVGElement>) => ReactElement

/** The component for an icon. Its colour is that of the text around it. */
export function createIcon(shapes: IconShapes): Icon {
  return function DrawnIcon(props) {
    return createElement(
      'svg',
      {
        width: 24,
        height: 24,
        viewBox: '0 0 24 24',
        fill: 'none',
        stroke: 'currentColor',
        strokeWidth: 2,
        strokeLinecap: 'round',
        strokeLinejoin: 'round',
        'aria-hidden': true,
        ...props,
      },
      ...shapes.map(([name, attributes]) => createElement(name, attributes)),
    )
  }
}
